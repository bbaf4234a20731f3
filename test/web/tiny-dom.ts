/** The part of the DOM that the page uses: nodes, a parser for well-formed markup, and serialization. */

export class TinyNode {
  readonly nodeType: number;
  readonly tagName: string;
  nodeValue: string | null;
  parentNode: TinyNode | null = null;
  readonly childNodes: TinyNode[] = [];
  readonly #attributes = new Map<string, string>();

  constructor(tagName: string, nodeValue: string | null = null) {
    this.nodeType = nodeValue === null ? 1 : 3;
    this.tagName = tagName;
    this.nodeValue = nodeValue;
  }

  get content(): TinyNode | undefined {
    return this.tagName === "template" ? this : undefined;
  }

  get attributes() {
    return [...this.#attributes].map(([name, value]) => ({ name, value }));
  }

  readonly classes = new Set<string>();
  readonly classList = {
    toggle: (name: string, on: boolean) => void (on ? this.classes.add(name) : this.classes.delete(name)),
  };

  getAttribute(name: string): string | null {
    return this.#attributes.get(name) ?? null;
  }

  setAttribute(name: string, value: string): void {
    this.#attributes.set(name, value);
  }

  removeAttribute(name: string): void {
    this.#attributes.delete(name);
  }

  appendChild(node: TinyNode): void {
    this.insertBefore(node, null);
  }

  insertBefore(node: TinyNode, before: TinyNode | null): void {
    node.parentNode?.removeChild(node);
    const at = before === null ? this.childNodes.length : this.childNodes.indexOf(before);
    if (at === -1) throw new Error("the node to insert before is no child");
    this.childNodes.splice(at, 0, node);
    node.parentNode = this;
  }

  removeChild(node: TinyNode): void {
    const at = this.childNodes.indexOf(node);
    if (at === -1) throw new Error("the node to remove is no child");
    this.childNodes.splice(at, 1);
    node.parentNode = null;
  }

  get innerHTML(): string {
    return this.childNodes.map((node) => node.outerHTML).join("");
  }

  set innerHTML(html: string) {
    for (const node of [...this.childNodes]) this.removeChild(node);
    parseInto(this, html);
  }

  get outerHTML(): string {
    if (this.nodeValue !== null) return escaped(this.nodeValue);
    const attributes = this.attributes.map(({ name, value }) => ` ${name}="${escaped(value)}"`).join("");
    return `<${this.tagName}${attributes}>${this.innerHTML}</${this.tagName}>`;
  }

  get textContent(): string {
    return this.nodeValue ?? this.childNodes.map((node) => node.textContent).join(" ");
  }

  all(): TinyNode[] {
    return [this, ...this.childNodes.flatMap((node) => node.all())];
  }
}

const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };
const plain = (text: string) => text.replace(/&([\w#]+);/g, (whole, name: string) => entities[name] ?? whole);
const escaped = (text: string) =>
  text.replace(/[&<>"]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[letter]!);

/** @throws if an element is not closed, closed in the wrong order, or the text is not markup */
function parseInto(root: TinyNode, html: string): void {
  let at = root;
  let rest = html;
  while (rest !== "") {
    const token = /^(?:<(\/?)([a-z0-9]+)((?:\s+[\w-]+(?:="[^"<>]*")?)*)\s*(\/?)>|[^<]+)/.exec(rest);
    if (!token) throw new Error(`no markup: ${rest.slice(0, 80)}`);
    const [whole, closing, name, attributes, alone] = token;
    if (name === undefined) at.appendChild(new TinyNode("", plain(whole)));
    else if (closing) {
      if (at.tagName !== name || at.parentNode === null) throw new Error(`</${name}> closes <${at.tagName}>`);
      at = at.parentNode;
    } else {
      const element = new TinyNode(name);
      for (const [, key, value] of (attributes ?? "").matchAll(/([\w-]+)(?:="([^"]*)")?/g))
        element.setAttribute(key!, plain(value ?? ""));
      at.appendChild(element);
      if (!alone) at = element;
    }
    rest = rest.slice(whole.length);
  }
  if (at !== root) throw new Error(`<${at.tagName}> is left open`);
}
