/**
 * The simulated exchange. One port serves the contract, and control calls under `/sim/`.
 *
 *   simulator.ts   starts it: clock, world, sessions, server        run.ts      as a program
 *   world.ts       markets and traders, step by step                state.ts    their data
 *   markets/       prices, books, funding                           accounts/   positions, orders, liquidations, inboxes
 *   server/        routes, refusals, faults, sessions, control calls; answers/: one answer for each endpoint
 *   stream/        the WebSocket                                    ledger/     the ledger and its RPC
 *   scenario.ts    changes of the world by a script
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
