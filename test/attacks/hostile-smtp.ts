/**
 * A program in front of a mail server that answers with malice: `node hostile-smtp.ts PORT_BEHIND`. It prints `port N`; each line of its
 * standard input is a kind of malice for connections from then on, or `well`, and is answered by `ready`. Each connection is a
 * line `connected`. A process of its own, so that it takes no time of whom it attacks or of who looks on.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";

export const mailsOfMalice = [
  "silent after the connection",
  "a byte a second",
  "endless reply",
  "endless line",
  "a megabyte without a line end",
  "garbage after STARTTLS",
] as const;
export type MailOfMalice = (typeof mailsOfMalice)[number];

async function answer(socket: Socket, kind: MailOfMalice): Promise<void> {
  socket.on("error", () => {});
  socket.resume();
  switch (kind) {
    case "silent after the connection":
      return;
    case "a byte a second":
      for (let at = 0; !socket.destroyed; at++) {
        socket.write(at < 4 ? "220-"[at]! : "x");
        await pause(1_000);
      }
      return;
    case "endless reply":
    case "endless line": {
      const lines = kind === "endless line" ? "220-x".repeat(12_000) : "220-still thinking\r\n".repeat(3_000);
      while (!socket.destroyed)
        if (!socket.write(lines)) await Promise.race([once(socket, "drain"), once(socket, "close")]);
      return;
    }
    case "a megabyte without a line end":
      socket.write(`220 ${"x".repeat(1_048_576)}`);
      return;
    case "garbage after STARTTLS":
      socket.write("220 mail.example.org\r\n");
      socket.on("data", (bytes) => {
        if (/^EHLO/i.test(String(bytes))) socket.write("250-mail.example.org\r\n250 STARTTLS\r\n");
        else if (/^STARTTLS/i.test(String(bytes)))
          socket.write(
            Buffer.concat([Buffer.from("220 go ahead\r\n"), Buffer.alloc(100_000, "\x16garbage")]),
          );
      });
      return;
    default:
      throw new Error(`no malice ${kind satisfies never}`);
  }
}

if (import.meta.main) {
  let kind: MailOfMalice | "well" = "well";
  const server = createServer((socket) => {
    console.log("connected");
    if (kind !== "well") {
      // The other side may go at any moment.
      answer(socket, kind).catch(() => socket.destroy());
      return;
    }
    const behind = connect(Number(process.argv[2]), "127.0.0.1");
    socket.pipe(behind).pipe(socket);
    for (const one of [socket, behind]) one.on("error", () => one.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  console.log(`port ${(server.address() as AddressInfo).port}`);
  createInterface({ input: process.stdin }).on("line", (line) => {
    kind = line as typeof kind;
    console.log("ready");
  });
}
