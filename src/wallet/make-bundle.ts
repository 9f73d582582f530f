import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

/** Names the address where the licences of the packages in it are served. */
const HEAD = '/*! Openaisle, with code of others: /third-party-notices.txt */';

export interface Bundle {
  code: string;
  /** The files that something of it comes from. */
  modules: readonly string[];
}

/** One script for browsers, the same bytes from the same sources and packages. */
export async function makeBundle(): Promise<Bundle> {
  const bundle = await rolldown({
    input: fileURLToPath(new URL('./main.ts', import.meta.url)),
    platform: 'browser',
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    transform: { target: 'es2022' },
  });
  try {
    const { output } = await bundle.generate({ format: 'iife', minify: true, comments: { legal: true } });
    return { code: `${HEAD}\n${output[0].code}`, modules: Object.keys(output[0].modules) };
  } finally {
    await bundle.close();
  }
}
