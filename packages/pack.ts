import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Package folders. Each contains a manifest, a README and a compiler project. */
export const PACKAGES = ['sdk', 'cli'] as const;
export type PackageFolder = (typeof PACKAGES)[number];

/** Paths by condition, nested to any depth. */
interface Exported {
  [condition: string]: string | Exported;
}

export interface Manifest {
  name: string;
  version: string;
  engines: { node: string };
  dependencies: Record<string, string>;
  bin?: Record<string, string>;
  exports: Exported;
}

/** Matches imports of values and types: `from 'x'`, `import 'x'`, `import('x')`. */
const IMPORTED = /(?:\bfrom\s+|\bimport\s*\(?\s*)(["'])([^"'\n]+)\1/g;
/** Matches source file names, which declarations keep. */
const SOURCE_NAME = /(["'])(\.{1,2}\/[\w./-]+)\.ts\1/g;

/** Writes the package as published into a new folder. Throws if a file or a version is missing. */
export function stagePackage(name: PackageFolder, folder: string): Manifest {
  const from = join(ROOT, 'packages', name);
  const dist = join(folder, 'dist');
  mkdirSync(folder, { recursive: true });
  compile(join(from, 'tsconfig.json'), dist);
  const root = readManifest(ROOT);
  const manifest = readManifest(from);
  const texts = readdirSync(dist, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(?:js|d\.ts)$/.test(path))
    .map((path) => rewriteNames(join(dist, path)));
  const packages = new Set(texts.flatMap(packagesIn));
  const dependencies = [...packages].sort().map((used) => [used, versionOf(used, root)]);
  const made = {
    ...manifest,
    // All packages of this repository share one version and one changelog.
    version: root.version,
    license: root.license,
    dependencies: Object.fromEntries(dependencies),
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(made, null, 2)}\n`);
  cpSync(join(from, 'README.md'), join(folder, 'README.md'));
  for (const text of ['LICENSE', 'CHANGELOG.md']) cpSync(join(ROOT, text), join(folder, text));
  const named = [...Object.values(made.bin ?? {}), ...pathsIn(made.exports)];
  for (const path of named) {
    if (path.endsWith('.d.cts')) declareForRequire(join(folder, path));
    if (!existsSync(join(folder, path))) throw new Error(`${made.name} names ${path}, and does not have it`);
  }
  return made;
}

/** Writes both tarballs into `out` and returns their paths. */
export function packAll(out: string): string[] {
  const work = mkdtempSync(join(tmpdir(), 'openaisle-pack-'));
  mkdirSync(out, { recursive: true });
  try {
    return PACKAGES.map((name) => {
      const folder = join(work, name);
      stagePackage(name, folder);
      const asked = ['pack', '--json', '--ignore-scripts', '--pack-destination', resolve(out)];
      const [packed] = JSON.parse(execFileSync('npm', asked, { cwd: folder, encoding: 'utf8' })) as [
        { filename: string },
      ];
      return join(resolve(out), packed.filename);
    });
  } finally {
    rmSync(work, { recursive: true });
  }
}

function compile(project: string, outDir: string): void {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [tsc, '-p', project, '--outDir', outDir], { stdio: 'inherit' });
}

/** Rewrites file names in a compiled file to those of the package, and returns its text. */
function rewriteNames(path: string): string {
  const text = readFileSync(path, 'utf8');
  if (!path.endsWith('.d.ts')) {
    // The compiler follows imports only, so a file referenced by URL would be missing.
    const [lost] = text.match(SOURCE_NAME) ?? [];
    if (lost !== undefined) throw new Error(`${path} names ${lost}, which is not in the package`);
    return text;
  }
  const named = text.replace(SOURCE_NAME, '$1$2.js$1');
  writeFileSync(path, named);
  return named;
}

function packagesIn(text: string): string[] {
  return [...text.matchAll(IMPORTED)]
    .map(([, , name = '']) => name)
    .filter((name) => !/^(?:\.|node:)/.test(name))
    .map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name);
}

/** Returns the version tested here. viem pins its own dependencies, so code that signs is equal in every installation. */
function versionOf(name: string, { dependencies }: Manifest): string {
  const version = dependencies[name];
  if (version === undefined) throw new Error(`${name} is imported by a package, and is no dependency of the project`);
  return version;
}

function pathsIn(exported: Exported): string[] {
  return Object.values(exported).flatMap((one) => (typeof one === 'string' ? one : pathsIn(one)));
}

/** `require` loads the same module as `import` (Node 20.19), but under node16 the compiler wants a CommonJS declaration. */
function declareForRequire(path: string): void {
  writeFileSync(path, `export * from './${basename(path, '.d.cts')}.js';\n`);
}

function readManifest(folder: string): Manifest & { license: string } {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest & { license: string };
}

// `npm run pack [-- --out DIR]`. Default: this folder.
if (import.meta.main) {
  const { values } = parseArgs({ options: { out: { type: 'string', default: '.' } } });
  for (const path of packAll(values.out)) process.stdout.write(`${path}\n`);
}
