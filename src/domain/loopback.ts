const names = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Returns true for this machine's own names in a URL: requests by http:// or ws:// to them do not leave the machine. */
export function isLoopbackHost(hostname: string): boolean {
  return names.test(hostname);
}
