/** Environment variable that names the folder with compiled sources of programs that tests start. The global setup creates that folder. */
export const COMPILED_FOLDER = 'OPENAISLE_TEST_COMPILED';

/** Returns the environment variables with which a program reuses sources compiled earlier in the run. This halves its start time. */
export function compileCache(): Record<string, string> {
  const folder = process.env[COMPILED_FOLDER];
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
}
