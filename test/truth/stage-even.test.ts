import { playHalf } from "./stage.ts";

playHalf(0);
