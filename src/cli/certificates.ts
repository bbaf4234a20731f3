/** The environment cannot switch off that certificates are checked: all sessions and keys of services go over these connections. */

/** @param env that of this process, which Node reads at each connection */
export function checkCertificates(env: NodeJS.ProcessEnv): void {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED !== "0") return;
  delete env.NODE_TLS_REJECT_UNAUTHORIZED;
  process.stderr.write(
    "perpwatch: NODE_TLS_REJECT_UNAUTHORIZED=0 is ignored: certificates are checked. " +
      "Name a certificate of your own with NODE_EXTRA_CA_CERTS=FILE.\n",
  );
}
