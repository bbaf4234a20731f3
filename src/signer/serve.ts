/** The signer's side of the protocol: serves one client on a stream. */
import type { Duplex } from "node:stream";
import type { KeyAnswer } from "./keys.ts";
import { SignerUnavailable, type SigningAct, SigningRefused, type WalletSigner } from "./signer.ts";
import {
  foreignRequest,
  lineOf,
  maxRequestBytes,
  parsedLine,
  type ReadKind,
  type Reply,
  type Request,
  readKind,
  readLines,
  requestForm,
} from "./wire.ts";

/** The keys of the signer process. */
export interface KeyHolder {
  /**
   * @throws {SigningRefused} if it is not loaded and the earlier one stays in use @throws {SignerUnavailable} if there
   * is none
   */
  read(how: ReadKind): Promise<{ readonly keys: readonly KeyAnswer[]; readonly closed: string }>;
  /** @throws {SignerUnavailable} if the wallet is not loaded */
  signerOf(address: string): Promise<WalletSigner>;
  /** Records an act that no signer received, for the signature log. */
  noteRefused?(wallet: string, act: SigningAct, reason: string): void;
}

/** Maximum waiting requests of one stream. perpwatch's client has fewer concurrent ones (client.ts). */
const maxWaiting = 256;
/** Maximum length of a reply's text, characters. */
const maxText = 8_000;

/**
 * Serves the requests of one client, in order, until the stream ends. Invalid data ends the stream; a request of
 * another version is answered.
 * @param mayAsk false if a wallet has reached its signature limit
 * @param onRequest called for each request
 */
export function serve(
  stream: Duplex,
  holder: KeyHolder,
  mayAsk: (address: string) => boolean = () => true,
  onRequest: () => void = () => {},
): void {
  let waiting = 0;
  let last: Promise<void> = Promise.resolve();
  stream.on("error", () => {});
  readLines(stream, maxRequestBytes, (line) => {
    const request = parsedLine(requestForm, line) ?? unknownRequestReply(line);
    if (request === undefined || ++waiting > maxWaiting) return void stream.destroy();
    onRequest();
    last = last.then(async () => {
      if (stream.destroyed) return;
      const reply = "unavailable" in request ? request : await answer(request, holder, mayAsk);
      if (stream.destroyed) return;
      // Waits for a client that does not read.
      if (!stream.write(lineOf(reply))) await drained(stream);
      waiting--;
    });
  });
}

const knownRequests: ReadonlySet<string> = new Set([...readKind.options, "sign", "sessionKey"]);

/** The reply to an unknown request; undefined: the data is not a request of any version. */
function unknownRequestReply(line: string): Extract<Reply, { readonly unavailable: string }> | undefined {
  const request = parsedLine(foreignRequest, line);
  if (request === undefined || knownRequests.has(request.do)) return undefined;
  return {
    id: request.id,
    unavailable:
      "the signer does not know this request: it is of an older version than what asks it; start it again",
  };
}

/** Resolves when the other end has read, or the stream is closed. */
function drained(stream: Duplex): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off("drain", done);
      stream.off("close", done);
      resolve();
    };
    stream.on("drain", done);
    stream.on("close", done);
  });
}

async function answer(
  request: Request,
  holder: KeyHolder,
  mayAsk: (address: string) => boolean,
): Promise<Reply> {
  const { id } = request;
  try {
    if (request.do === "sign") {
      const signer = await admittedSigner(request, holder, mayAsk);
      return { id, signed: await signer.sign(request.act) };
    }
    if (request.do === "sessionKey") {
      const signer = await holder.signerOf(request.wallet);
      return { id, sessionKey: Buffer.from(await signer.sessionKey()).toString("base64") };
    }
    const { keys, closed } = await holder.read(request.do);
    return { id, keys: [...keys], closed };
  } catch (error) {
    const text = (error instanceof Error ? error.message : String(error)).slice(0, maxText);
    if (error instanceof SigningRefused) return { id, refused: text, see: error.see };
    if (error instanceof SignerUnavailable) return { id, unavailable: text };
    return { id, failed: `the signer failed: ${text}` };
  }
}

/** Returns the signer of a loaded wallet below its signature limit. @throws {SignerUnavailable} */
async function admittedSigner(
  { wallet, act }: Extract<Request, { readonly do: "sign" }>,
  holder: KeyHolder,
  mayAsk: (address: string) => boolean,
): Promise<WalletSigner> {
  try {
    const signer = await holder.signerOf(wallet);
    if (mayAsk(wallet)) return signer;
    throw new SignerUnavailable("more signatures are asked for than a wallet needs; try again in a while");
  } catch (error) {
    if (error instanceof SignerUnavailable) holder.noteRefused?.(wallet, act, error.message);
    throw error;
  }
}
