/** The status page of a daemon, as a browser that is logged in asks it. */

/** Follows a one-time link as the page's script does. @returns the headers of later requests */
export async function followLink(link: string): Promise<{ readonly cookie: string }> {
  const { origin, hash } = new URL(link);
  const reply = await fetch(`${origin}/api/v1/session`, {
    method: "POST",
    headers: { "perpwatch-link": hash.replace("#login=", ""), origin },
  });
  if (reply.status !== 200) throw new Error(`the link was refused: ${reply.status} ${await reply.text()}`);
  return { cookie: reply.headers.getSetCookie()[0]!.split(";")[0]! };
}
