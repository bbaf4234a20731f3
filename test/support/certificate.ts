/** A self-signed certificate, made when it is needed: X.509 written by hand in DER, since Node signs but does not issue. */
import { generateKeyPairSync, sign } from "node:crypto";

/** @returns key and certificate in PEM for these DNS names and 127.0.0.1; valid for a day around now. */
export function selfSigned(names: readonly string[] = ["localhost"]): { key: string; cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const ecdsaWithSha256 = sequence(oid("1.2.840.10045.4.3.2"));
  const name = sequence(set(sequence(oid("2.5.4.3"), tagged(0x0c, Buffer.from(names[0] ?? "localhost")))));
  const day = 86_400_000;
  const validity = sequence(time(Date.now() - day), time(Date.now() + day));
  const alternatives = sequence(
    ...names.map((dns) => tagged(0x82, Buffer.from(dns))),
    tagged(0x87, Buffer.from([127, 0, 0, 1])),
  );
  const isAuthority = sequence(
    oid("2.5.29.19"),
    tagged(0x01, Buffer.from([0xff])),
    octets(sequence(tagged(0x01, Buffer.from([0xff])))),
  );
  const extensions = sequence(isAuthority, sequence(oid("2.5.29.17"), octets(alternatives)));
  const body = sequence(
    tagged(0xa0, integer(2)),
    integer(Date.now()),
    ecdsaWithSha256,
    name,
    validity,
    name,
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, extensions),
  );
  const signature = sign("sha256", body, privateKey);
  const certificate = sequence(
    body,
    ecdsaWithSha256,
    tagged(0x03, Buffer.concat([Buffer.from([0]), signature])),
  );
  const lines = certificate.toString("base64").match(/.{1,64}/g) ?? [];
  return {
    key: String(privateKey.export({ type: "pkcs8", format: "pem" })),
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
  };
}

function tagged(tag: number, content: Buffer): Buffer {
  const size = content.length;
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}
const sequence = (...parts: Buffer[]): Buffer => tagged(0x30, Buffer.concat(parts));
const set = (...parts: Buffer[]): Buffer => tagged(0x31, Buffer.concat(parts));
const octets = (content: Buffer): Buffer => tagged(0x04, content);

function integer(value: number): Buffer {
  const hex = value.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
  return tagged(0x02, (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

function time(ms: number): Buffer {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  return tagged(0x17, Buffer.from(text.slice(2)));
}

function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const part of rest) {
    const digits = [part & 0x7f];
    for (let left = part >> 7; left > 0; left >>= 7) digits.unshift((left & 0x7f) | 0x80);
    bytes.push(...digits);
  }
  return tagged(0x06, Buffer.from(bytes));
}
