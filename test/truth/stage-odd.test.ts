import { playHalf } from "./stage.ts";

playHalf(1);
