/** Reads mails as far as tests need it: headers, multipart, quoted-printable, base64, encoded words. UTF-8 only. */

export interface ParsedMail {
  /** Lower-case names; a repeated header is joined by newlines. */
  readonly headers: ReadonlyMap<string, string>;
  readonly subject: string;
  /** With angle brackets. */
  readonly messageId: string;
  readonly text: string;
  readonly html: string;
  /** The inline parts of the HTML, by the id that it is named by there. */
  readonly inline: readonly InlinePart[];
  /** The nesting of the parts: `multipart/alternative(text/plain, text/html)`. */
  readonly shape: string;
}

export interface InlinePart {
  /** Without angle brackets. */
  readonly id: string;
  readonly type: string;
  readonly disposition: string;
  readonly data: Buffer;
}

interface Part {
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** @param raw the mail as it came over the wire, one character a byte (latin1) */
export function parseMail(raw: string): ParsedMail {
  const part = split(raw);
  const found = { text: "", html: "", inline: [] as InlinePart[] };
  const shape = collect(part, found);
  return {
    headers: new Map([...part.headers].map(([name, value]) => [name, decodeWords(value)])),
    subject: decodeWords(part.headers.get("subject") ?? ""),
    messageId: part.headers.get("message-id") ?? "",
    ...found,
    shape,
  };
}

function split(raw: string): Part {
  const end = raw.indexOf("\r\n\r\n");
  const head = end < 0 ? raw : raw.slice(0, end);
  const headers = new Map<string, string>();
  for (const line of head.replaceAll(/\r\n(?=[ \t])/g, "").split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon < 0) continue;
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}\n${value}`);
  }
  return { headers, body: end < 0 ? "" : raw.slice(end + 4) };
}

/** @returns its shape */
function collect(part: Part, found: { text: string; html: string; inline: InlinePart[] }): string {
  const type = part.headers.get("content-type") ?? "text/plain";
  const boundary = /boundary="?([^";]+)"?/i.exec(type)?.[1];
  if (boundary !== undefined) {
    const pieces = `\r\n${part.body}`.split(`\r\n--${boundary}`).slice(1, -1);
    const inner = pieces.map((piece) => collect(split(piece.replace(/^\r\n/, "")), found));
    return `${essence(type)}(${inner.join(", ")})`;
  }
  const id = part.headers.get("content-id");
  if (id !== undefined) {
    found.inline.push({
      id: id.replaceAll(/[<>]/g, ""),
      type: essence(type),
      disposition: essence(part.headers.get("content-disposition") ?? ""),
      data: Buffer.from(part.body, "base64"),
    });
    return essence(type);
  }
  const text = decodeBody(part.body, part.headers.get("content-transfer-encoding") ?? "7bit");
  if (/^text\/html/i.test(type)) found.html = text;
  else if (/^text\/plain/i.test(type)) found.text = text;
  return essence(type);
}

/** The leading word of a header, without its parameters. */
function essence(header: string): string {
  return header.split(";")[0]!.trim().toLowerCase();
}

function decodeBody(body: string, encoding: string): string {
  const bytes =
    encoding.toLowerCase() === "base64"
      ? Buffer.from(body, "base64")
      : encoding.toLowerCase() === "quoted-printable"
        ? Buffer.from(unquote(body.replaceAll(/=[ \t]*\r\n/g, "")), "latin1")
        : Buffer.from(body, "latin1");
  return bytes.toString("utf8").replaceAll("\r\n", "\n");
}

function unquote(text: string): string {
  return text.replaceAll(/=([0-9A-F]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

function decodeWords(text: string): string {
  return text
    .replaceAll(/\?=\s+=\?/g, "?==?")
    .replaceAll(/=\?utf-8\?([QB])\?([^?]*)\?=/gi, (_, how: string, word: string) => {
      const bytes =
        how.toUpperCase() === "B"
          ? Buffer.from(word, "base64")
          : Buffer.from(unquote(word.replaceAll("_", " ")), "latin1");
      return bytes.toString("utf8");
    });
}
