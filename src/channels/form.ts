/** A form as bytes: Node's own forms are none to the library that sends them. */
export async function formBytes(form: FormData): Promise<{ readonly type: string; readonly bytes: Buffer }> {
  const encoded = new Response(form);
  const type = encoded.headers.get("content-type") ?? "multipart/form-data";
  return { type, bytes: Buffer.from(await encoded.arrayBuffer()) };
}
