/** `perpwatch service remove`: stops the services and removes their units. Data, configuration and users remain. */
import path from "node:path";
import { credentialName } from "../../signing/passphrase.ts";
import { serviceConfig, signerPart, signerStateFolder, stateFolder, usualKeystore } from "./configuration.ts";
import { systemUnits, sysusersFile, tmpfilesFile, unitFolder, userUnitFile } from "./install.ts";
import type { Machine } from "./machine.ts";
import { credentialPaths } from "./units.ts";

export function removeSystem(machine: Machine, note: (text: string) => void): void {
  const units = systemUnits.filter((name) => machine.has(`${unitFolder}/${name}`));
  if (units.length > 0) {
    const stop = machine.image === null ? ["disable", "--now"] : [`--root=${machine.image}`, "disable"];
    machine.run(["systemctl", ...stop, ...units]);
  }
  for (const name of units) machine.remove(`${unitFolder}/${name}`);
  machine.remove(sysusersFile);
  machine.remove(tmpfilesFile);
  if (units.length > 0 && machine.image === null) machine.run(["systemctl", "daemon-reload"]);
  removePassphrase(machine, note);
  const kept = [path.dirname(serviceConfig), stateFolder, signerStateFolder].filter((one) =>
    machine.has(one),
  );
  if (kept.length > 0) note(`kept: ${kept.join(", ")}, and the users perpwatch and perpwatch-signer`);
}

/** Keeps a passphrase that still opens a keystore, because its keys would be lost without it. */
function removePassphrase(machine: Machine, note: (text: string) => void): void {
  const text = machine.read(serviceConfig);
  // Without the configuration the place of the keystore is unknown.
  const named = text === null ? "the keystore" : signerPart(text, serviceConfig).keystore;
  const found = [named, usualKeystore].find((one) => machine.has(one)) ?? (text === null ? named : null);
  for (const file of Object.values(credentialPaths)) {
    if (!machine.has(file)) continue;
    if (found !== null)
      note(`${file} is kept: nothing else opens ${found}. Delete both once you need its keys no longer`);
    else machine.remove(file);
  }
}

/** @param home the folder of the user's configurations */
export function removeUser(machine: Machine, home: string, note: (text: string) => void): void {
  const unit = userUnitFile(home);
  if (machine.has(unit)) {
    machine.run(["systemctl", "--user", "disable", "--now", "perpwatch.service"]);
    machine.remove(unit);
    machine.run(["systemctl", "--user", "daemon-reload"]);
  }
  const secret = path.join(home, "perpwatch", credentialName);
  if (machine.has(secret)) note(`${secret} is kept: it may be all that opens the keystore`);
  note("configuration and history are where they were");
}
