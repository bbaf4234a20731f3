import { repeatHalf } from "./stage.ts";

repeatHalf(0);
