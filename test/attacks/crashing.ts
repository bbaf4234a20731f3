/**
 * Loaded into a daemon before it begins (`NODE_OPTIONS=--import`): at SIGUSR2 an error that nobody expects is thrown, or rejected where
 * PERPWATCH_CRASH is `rejection`, with each text of PERPWATCH_CANARIES in its message, its cause and its properties, as errors of libraries
 * hold requests and addresses.
 */
process.on("SIGUSR2", () => {
  const secrets = process.env.PERPWATCH_CANARIES ?? "";
  const error = Object.assign(new TypeError(`Failed to parse URL from ${secrets}\n    at ${secrets}`), {
    ...{
      code: "ERR_INVALID_URL",
      input: secrets,
      requestBody: { json: secrets },
      response: `535 ${secrets}`,
    },
    cause: new Error(secrets),
  });
  if (process.env.PERPWATCH_CRASH === "rejection") void Promise.reject(error);
  else
    setImmediate(() => {
      throw error;
    });
});
