/** The section `signer:`: the process that holds the keys, and the keystore. */
import { z } from "zod";

export const signerSettings = z.strictObject({
  /** Socket of a separately running signer; left out: each command that signs starts one. */
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
