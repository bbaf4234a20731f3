/** Renders an SVG to PNG outside the event loop, with the bundled font only, so that the machine's fonts do not matter. */
import { fileURLToPath } from "node:url";

const font = fileURLToPath(new URL("../../../fonts/DejaVuSansMono.ttf", import.meta.url));

/**
 * The same SVG gives the same bytes. Rejects where the library has no build for this machine.
 * @param zoom pixels per unit of the SVG
 */
export async function pngOf(svg: string, zoom = 1): Promise<Buffer> {
  const { renderAsync } = await import("@resvg/resvg-js");
  const image = await renderAsync(svg, {
    fitTo: { mode: "zoom", value: zoom },
    font: { fontFiles: [font], loadSystemFonts: false, defaultFontFamily: "DejaVu Sans Mono" },
  });
  return image.asPng();
}
