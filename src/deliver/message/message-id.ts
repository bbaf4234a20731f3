/** Message ids: short enough for a Discord nonce, and unique. */

const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** Number of bytes in a message's id. */
export const messageIdBytes = 16;

/** @param bytes 16 of them, random or a digest  @returns 1 to 22 base58 characters */
export function messageId(bytes: Uint8Array): string {
  let number = 0n;
  for (const byte of bytes) number = (number << 8n) | BigInt(byte);
  let text = "";
  do {
    text = alphabet[Number(number % 58n)] + text;
    number /= 58n;
  } while (number > 0n);
  return text;
}
