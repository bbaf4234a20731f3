/** A map of few entries is a map: the same steps on both, whatever they are, come to the same. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { FewMap } from "../../src/domain/structures/few-map.ts";

test("it tells what a Map tells", () => {
  const step = fc.record({
    do: fc.constantFrom("set", "set", "set", "delete", "clear"),
    key: fc.constantFrom("a", "b", "c"),
    value: fc.option(fc.nat(), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const few = new FewMap<string, number | undefined>();
      const map = new Map<string, number | undefined>();
      for (const { do: what, key, value } of steps) {
        if (what === "set") expect(few.set(key, value)).toBe(few);
        if (what === "set") map.set(key, value);
        if (what === "delete") expect(few.delete(key)).toBe(map.delete(key));
        if (what === "clear") few.clear();
        if (what === "clear") map.clear();
        expect([...few]).toEqual([...map]);
        expect([...few.entries()]).toEqual([...map]);
        expect([...few.keys()]).toEqual([...map.keys()]);
        expect([...few.values()]).toEqual([...map.values()]);
        expect(few.size).toBe(map.size);
        const each: unknown[] = [];
        few.forEach((one, name) => void each.push([name, one]));
        expect(each).toEqual([...map]);
        for (const name of ["a", "b", "c"]) {
          expect(few.get(name)).toBe(map.get(name));
          expect(few.has(name)).toBe(map.has(name));
        }
      }
    }),
  );
});
