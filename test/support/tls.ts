/** A connection over TLS to a listener of this machine, whose certificate is for `localhost`. */
import { connect, type TLSSocket } from "node:tls";

/** @returns the socket once it is encrypted; rejects when the certificate is another, or it is closed before */
export function secured(port: number, ca: string): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", ca, servername: "localhost" }, () => resolve(socket));
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("closed")));
  });
}
