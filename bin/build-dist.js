// `npm run build`: the JavaScript of servers, commands and clients in dist, made of src by taking the types out. It needs no package, so that an
// installation without development dependencies makes it too. Every start calls this; where dist is made of these very sources it does nothing.
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
// Not by name: what Node 20 lacks would end this before it could say so.
import * as nodeModule from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const [SRC, DIST] = [join(ROOT, 'src'), join(ROOT, 'dist')];
/** Holds the hash of what dist is made of. */
const MARK = 'made-of.sha256';
/** Runs from its sources, with development dependencies. */
const LEFT_OUT = /^(?:local|wallet)\/|\.test\.ts$/;
/** Of an import, or of the address of a program for a thread. */
const SOURCE_NAME = /(["'])(\.{1,2}\/[\w./-]+)\.ts\1/g;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 13)) {
  process.stderr.write(
    `Openaisle needs Node 22 (from 22.13 on) or Node 24; this is Node ${process.versions.node}. ` +
      'After "npm install" with development dependencies npm scripts run on a Node 24 that comes with them.\n',
  );
  process.exit(1);
}
// A package holds dist alone.
if (existsSync(SRC)) build();

function build() {
  const sources = readdirSync(SRC, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(SRC.length + 1))
    .filter((path) => !LEFT_OUT.test(path))
    .sort()
    .map((path) => ({ path, bytes: readFileSync(join(SRC, path)) }));
  const hash = createHash('sha256').update(readFileSync(fileURLToPath(import.meta.url)));
  for (const { path, bytes } of sources) hash.update(`${path} ${bytes.length}\n`).update(bytes);
  const madeOf = hash.digest('hex');
  if (readMark() === madeOf) return;
  // Only syntax that can be erased is used (0001), which is all that is experimental about it.
  process.removeAllListeners('warning');
  const [draft, old] = [`${DIST}.${randomUUID()}`, `${DIST}.${randomUUID()}`];
  try {
    for (const source of sources) write(draft, source);
    writeFileSync(join(draft, MARK), madeOf);
    // Whole, in the place of the old one: what starts meanwhile reads one or the other.
    if (existsSync(DIST)) renameSync(DIST, old);
    renameSync(draft, DIST);
  } catch (error) {
    // Another start was faster with the same.
    if (readMark() !== madeOf) throw error;
  } finally {
    for (const folder of [draft, old]) rmSync(folder, { recursive: true, force: true });
  }
}

function readMark() {
  const file = join(DIST, MARK);
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
}

function write(folder, { path, bytes }) {
  const isSource = path.endsWith('.ts');
  const file = join(folder, isSource ? path.replace(/ts$/, 'js') : path);
  mkdirSync(dirname(file), { recursive: true });
  // Types become spaces: lines and columns of a stack trace are those of the source.
  const text = () => nodeModule.stripTypeScriptTypes(bytes.toString('utf8')).replaceAll(SOURCE_NAME, '$1$2.js$1');
  writeFileSync(file, isSource ? text() : bytes);
}
