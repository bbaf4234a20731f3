/** `signer:`: who holds the keys, and where those of the keystore are. */
import { z } from "zod";

export const signerSettings = z.strictObject({
  /** The socket of a signer that runs on its own; left out: one is started with each command that signs. */
  socket: z.string().min(1).optional(),
  /** Left out: keystore.json. */
  keystore: z.string().min(1).optional(),
  passphraseFile: z.string().min(1).optional(),
  /**
   * Folder of the trusted forms of login and of the signature log. Left out: that of the database; where `socket` and `keystore` are named,
   * that of the keystore.
   */
  state: z.string().min(1).optional(),
});

/** Absolute paths. */
export interface SignerSettings {
  readonly socket: string | null;
  readonly keystore: string;
  readonly passphraseFile: string | null;
  readonly state: string;
}
