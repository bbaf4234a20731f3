/** Encodes a form to bytes; undici does not accept Node's own FormData. */
export async function formBytes(form: FormData): Promise<{ readonly type: string; readonly bytes: Buffer }> {
  const encoded = new Response(form);
  const type = encoded.headers.get("content-type") ?? "multipart/form-data";
  return { type, bytes: Buffer.from(await encoded.arrayBuffer()) };
}
