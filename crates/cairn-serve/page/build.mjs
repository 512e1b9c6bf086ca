// Builds the page: TypeScript and CSS in src/ become two files in built/, which the binary embeds.
//   node build.mjs          writes them
//   node build.mjs --check  fails if what is committed is not what the sources give
//   node build.mjs --test   makes the tests runnable, in .tests/
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";

const here = new URL(".", import.meta.url).pathname;
const shared = { bundle: true, charset: "utf8", legalComments: "none", logLevel: "warning", absWorkingDir: here };

async function page() {
  const made = await build({
    ...shared,
    entryPoints: ["src/main.ts", "src/page.css"],
    target: ["es2022", "chrome110", "firefox115", "safari16"],
    format: "iife",
    outdir: "built",
    write: false,
  });
  const text = (end) => made.outputFiles.find((file) => file.path.endsWith(end)).text;
  const files = { "page.js": text(".js"), "page.css": text(".css") };
  // A saved report has both inside: only what has these digests is run and applied there.
  for (const name of Object.keys(files)) {
    files[`${name}.sha256`] = createHash("sha256").update(files[name]).digest("base64") + "\n";
  }
  return files;
}

if (process.argv.includes("--test")) {
  rmSync(`${here}.tests`, { recursive: true, force: true });
  const tests = readdirSync(`${here}test`).map((name) => `test/${name}`);
  await build({ ...shared, entryPoints: tests, platform: "node", format: "esm", outdir: ".tests", outExtension: { ".js": ".mjs" } });
} else {
  const files = await page();
  const stale = [];
  mkdirSync(`${here}built`, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    const path = `${here}built/${name}`;
    if (!process.argv.includes("--check")) writeFileSync(path, text);
    else if (readFileSync(path, "utf8") !== text) stale.push(name);
  }
  if (stale.length > 0) {
    console.error(`built/${stale.join(", built/")} are not what src/ gives: run 'npm ci && npm run build' in crates/cairn-serve/page`);
    process.exit(1);
  }
}
