/**
 * A local mail server for tests: a real one on loopback that keeps what it accepts, and is unwell on demand.
 *
 *   await using smtp = await startSmtp();
 *   // config: { type: email, smtp: { host: smtp.host, port: smtp.port, secure: false }, from: …, to: [ … ] }
 *   smtp.fail({ at: "rcpt", code: 451, times: 1 });              // greylisting
 *   const mail = await smtp.waitForMail((m) => m.subject.includes("LIQUIDATED"));
 */
import type { AddressInfo, Socket } from "node:net";
import { SMTPServer, type SMTPServerSession } from "smtp-server";
import { selfSigned } from "./certificate.ts";
import { type ParsedMail, parseMail } from "./mime.ts";
import { Watched } from "./wait.ts";

export interface ReceivedMail extends ParsedMail {
  readonly from: string;
  /** The envelope's recipients that were accepted. */
  readonly to: readonly string[];
  readonly secure: boolean;
  readonly user: string | null;
  readonly atMs: number;
  readonly raw: string;
  /** The line was cut instead of an answer. */
  readonly cut: boolean;
}

export type SmtpFault =
  /** Refuses with this code; `recipient` narrows a `rcpt` fault to one address. */
  | {
      readonly at: "connect" | "auth" | "mail" | "rcpt" | "data";
      readonly code: number;
      readonly message?: string;
      readonly recipient?: string;
      readonly times?: number;
    }
  /**
   * `connect`: never greets. `data`: takes the whole mail, never answers the final dot; the mail is not kept. `afterData`: the
   * same, and it is kept.
   */
  | { readonly at: "connect" | "data" | "afterData"; readonly hang: true; readonly times?: number }
  /** `data`: cuts the line in the middle of the mail. `afterData`: keeps the mail, then cuts instead of answering. */
  | { readonly at: "connect" | "data" | "afterData"; readonly drop: true; readonly times?: number };

export interface SmtpOptions {
  /** `starttls` and `tls` use a certificate made for this server, in `ca`. */
  readonly tls?: "none" | "starttls" | "tls";
  /** Required when given. */
  readonly auth?: { readonly user: string; readonly password: string };
}

export interface LocalSmtp extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** The certificate that clients have to trust, PEM; empty without TLS. */
  readonly ca: string;
  readonly mails: readonly ReceivedMail[];
  /** Connections ever accepted, and those open now. */
  readonly connections: number;
  readonly open: number;
  waitForMail(fits: (mail: ReceivedMail) => boolean, timeoutMs?: number): Promise<ReceivedMail>;
  /** Resolves when no connection is open. */
  waitForNobody(timeoutMs?: number): Promise<void>;
  /** `left`: how often it is still to come. `used`: resolves when it came for the last time. */
  fail(fault: SmtpFault): { left(): number; readonly used: Promise<void> };
  clearFaults(): void;
  close(): Promise<void>;
}

export async function startSmtp(options: SmtpOptions = {}): Promise<LocalSmtp> {
  const mails = new Watched<ReceivedMail>();
  const links = new Watched<{ open: boolean }>();
  const sockets = new Set<Socket>();
  let faults: { readonly fault: SmtpFault; left: number; readonly used: () => void }[] = [];
  const tls = options.tls ?? "none";
  const pem = tls === "none" ? undefined : selfSigned();

  const take = (fits: (fault: SmtpFault) => boolean): SmtpFault | undefined => {
    const found = faults.find(({ fault, left }) => left > 0 && fits(fault));
    if (found !== undefined && --found.left === 0) found.used();
    return found?.fault;
  };
  /** Acts on a fault at this step; false when there is none and the step goes on. */
  const act = (
    fault: SmtpFault | undefined,
    session: SMTPServerSession,
    done: (error: Error) => void,
  ): boolean => {
    if (fault === undefined) return false;
    if ("code" in fault) {
      done(Object.assign(new Error(fault.message ?? "on demand"), { responseCode: fault.code }));
    } else if ("drop" in fault) {
      cut(session);
    }
    return true;
  };
  const cut = (session: SMTPServerSession) => {
    for (const socket of sockets) {
      if (socket.remotePort === session.remotePort) socket.destroy();
    }
  };

  const server = new SMTPServer({
    secure: tls === "tls",
    ...(pem === undefined ? {} : { key: pem.key, cert: pem.cert }),
    disabledCommands: [...(tls === "starttls" ? [] : ["STARTTLS"]), ...(options.auth ? [] : ["AUTH"])],
    authOptional: options.auth === undefined,
    allowInsecureAuth: true,
    disableReverseLookup: true,
    closeTimeout: 100,
    logger: false,
    onConnect(session, done) {
      if (
        !act(
          take(({ at }) => at === "connect"),
          session,
          done,
        )
      )
        done();
    },
    onAuth(auth, session, done) {
      if (
        act(
          take(({ at }) => at === "auth"),
          session,
          done,
        )
      )
        return;
      if (auth.username === options.auth?.user && auth.password === options.auth?.password) {
        done(null, { user: auth.username });
      } else {
        done(Object.assign(new Error("5.7.8 Authentication credentials invalid"), { responseCode: 535 }));
      }
    },
    onMailFrom(_address, session, done) {
      if (
        !act(
          take(({ at }) => at === "mail"),
          session,
          done,
        )
      )
        done();
    },
    onRcptTo({ address }, session, done) {
      const hit = take((fault) => fault.at === "rcpt" && (fault.recipient ?? address) === address);
      if (!act(hit, session, done)) done();
    },
    onData(stream, session, done) {
      const fault = take(({ at }) => at === "data" || at === "afterData");
      const chunks: Buffer[] = [];
      if (fault !== undefined && fault.at === "data" && "drop" in fault) {
        stream.on("error", () => {});
        stream.once("data", () => cut(session));
        return;
      }
      stream.on("error", () => {});
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        if (fault?.at === "data" && act(fault, session, done)) return;
        const raw = Buffer.concat(chunks).toString("latin1");
        const { mailFrom, rcptTo } = session.envelope;
        mails.add({
          ...parseMail(raw),
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          secure: session.secure,
          user: typeof session.user === "string" ? session.user : null,
          atMs: Date.now(),
          raw,
          cut: fault !== undefined && "drop" in fault,
        });
        if (fault !== undefined && "hang" in fault) return;
        if (fault !== undefined) cut(session);
        else done(null, "Ok: queued as local");
      });
    },
  });
  server.on("error", () => {});
  server.server.on("connection", (socket: Socket) => {
    const link = { open: true };
    sockets.add(socket);
    links.add(link);
    socket.on("error", () => {});
    socket.on("close", () => {
      sockets.delete(socket);
      link.open = false;
      links.changed();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

  const close = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return {
    host: "127.0.0.1",
    port: (server.server.address() as AddressInfo).port,
    ca: pem?.cert ?? "",
    mails: mails.items,
    get connections() {
      return links.items.length;
    },
    get open() {
      return links.items.filter(({ open }) => open).length;
    },
    waitForMail: (fits, timeoutMs) => mails.waitFor(fits, timeoutMs),
    async waitForNobody(timeoutMs) {
      if (sockets.size > 0) await links.waitFor(() => links.items.every(({ open }) => !open), timeoutMs);
    },
    fail(fault) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const entry = { fault, left: fault.times ?? 1, used: resolve };
      faults.push(entry);
      return { left: () => entry.left, used: promise };
    },
    clearFaults() {
      faults = [];
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
