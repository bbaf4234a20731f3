import { test } from "vitest";
import { killAtHalf } from "./kills.ts";

test(
  "killed at every step, it loses nothing, acknowledges nothing early, and repeats nothing but in the window",
  {
    // About a minute of one core; on a busy machine it takes what it takes.
    timeout: 1_200_000,
  },
  () => killAtHalf(0),
);
