/**
 * Prevents that the environment disables the check of certificates: sessions and API keys are sent over these
 * connections.
 */

/** @param env the environment of this process, which Node reads at each connection */
export function checkCertificates(env: NodeJS.ProcessEnv): void {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED !== "0") return;
  delete env.NODE_TLS_REJECT_UNAUTHORIZED;
  process.stderr.write(
    "perpwatch: NODE_TLS_REJECT_UNAUTHORIZED=0 is ignored: certificates are checked. " +
      "Name a certificate of your own with NODE_EXTRA_CA_CERTS=FILE.\n",
  );
}
