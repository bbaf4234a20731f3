const names = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Returns true for this machine's own names in a URL: what is sent there by http:// or ws:// leaves it nowhere. */
export function isLoopbackHost(hostname: string): boolean {
  return names.test(hostname);
}
