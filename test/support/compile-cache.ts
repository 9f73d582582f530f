/** Names the folder in which programs that tests start keep their compiled sources. The global setup makes it. */
export const COMPILED_FOLDER = 'OPENAISLE_TEST_COMPILED';

/** Returns the variables with which a program compiles our sources once for all tests of a run, which halves the time of its start. */
export function compileCache(): Record<string, string> {
  const folder = process.env[COMPILED_FOLDER];
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
}
