import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

/** One script for browsers, the same bytes from the same sources and packages. */
export async function makeBundle(): Promise<string> {
  const bundle = await rolldown({
    input: fileURLToPath(new URL('./main.ts', import.meta.url)),
    platform: 'browser',
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    transform: { target: 'es2022' },
  });
  try {
    const { output } = await bundle.generate({ format: 'iife', minify: true, comments: { legal: true } });
    return output[0].code;
  } finally {
    await bundle.close();
  }
}
