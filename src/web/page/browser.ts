/** The part of the browser's interfaces that the page uses. */

/** The used part of a DOM node. */
export interface PageNode {
  readonly nodeType: number;
  nodeValue: string | null;
  readonly childNodes: ArrayLike<PageNode>;
  readonly parentNode: PageNode | null;
  appendChild(node: PageNode): void;
  insertBefore(node: PageNode, before: PageNode | null): void;
  removeChild(node: PageNode): void;
}

export interface PageElement extends PageNode {
  readonly tagName: string;
  readonly attributes: ArrayLike<{ readonly name: string; readonly value: string }>;
  readonly content?: PageElement | undefined;
  readonly classList: { toggle(name: string, on: boolean): void };
  innerHTML: string;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  /** Present on input fields only. */
  readonly value?: string;
}

export interface PageEvent {
  readonly target?: { readonly id?: string } | null;
  preventDefault(): void;
}

export interface Reply {
  readonly ok: boolean;
  readonly status: number;
  json(): Promise<unknown>;
}

/** The used part of the browser's window. */
export interface Browser {
  readonly document: {
    readonly hidden: boolean;
    readonly body: PageElement;
    title: string;
    getElementById(id: string): PageElement | null;
    createElement(name: string): PageElement;
    addEventListener(name: string, listener: (event: PageEvent) => void): void;
  };
  readonly location: { readonly hash: string; readonly pathname: string };
  readonly history: { replaceState(state: null, title: string, url: string): void };
  addEventListener(name: string, listener: () => void): void;
  readonly performance: { now(): number };
  readonly AbortSignal: { timeout(ms: number): unknown };
  fetch(
    url: string,
    how: {
      readonly signal: unknown;
      readonly cache: string;
      readonly method?: string;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    },
  ): Promise<Reply>;
  setInterval(run: () => void, ms: number): unknown;
}
