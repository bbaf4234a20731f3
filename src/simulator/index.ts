/**
 * The exchange, simulated. Behind one port: the contract, and control calls under `/sim/`.
 *
 *   simulator.ts   starts it: clock, world, sessions, server        run.ts      as a program
 *   world.ts       markets and traders, living step by step         state.ts    what they are made of
 *   answers/       one answer an endpoint                           http.ts     routes, refusals, faults
 *   control.ts     what tests and demonstrations do to the world    scenario.ts the same, by a script
 */
export { BadCall } from "./control.ts";
export { controlCalls } from "./control-calls.ts";
export { BadSettings, runSimulator, type SimulateSettings, simulateSettings } from "./run.ts";
export { BadScenario, parseScenario } from "./scenario.ts";
export {
  type SimulatedTrader,
  type Simulator,
  type SimulatorOptions,
  startSimulator,
} from "./simulator.ts";
