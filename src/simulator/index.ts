/**
 * The simulated exchange. One port serves the contract, and control calls under `/sim/`.
 *
 *   simulator.ts   starts it: clock, world, sessions, server        run.ts      as a program
 *   world.ts       markets and traders, step by step                state.ts    their data
 *   answers/       one answer for each endpoint                     http.ts     routes, refusals, faults
 *   control.ts     changes of the world by tests and demos          scenario.ts the same by a script
 *   control-bodies.ts  the arguments of each control call
 */

export { BadSettings, runSimulator, type SimulateSettings, simulateSettings } from "./run.ts";
export { BadScenario, parseScenario } from "./scenario.ts";
export { BadCall, type ControlArguments, type ControlCall, controlCalls } from "./server/control-bodies.ts";
export {
  type SimulatedTrader,
  type Simulator,
  type SimulatorOptions,
  startSimulator,
} from "./simulator.ts";
