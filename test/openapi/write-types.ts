// Prints openapi-typescript's types for a document: `node test/openapi/write-types.ts FILE`. That tool needs the API of TypeScript 5, which
// version 7 lacks, so this process maps the name to the older version (0002). The older version comes from a package without a `tsc`
// command, because that command would replace ours.
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier === 'typescript' ? '@ts-morph/common/dist/typescript.js' : specifier, context),
});

const [file = ''] = process.argv.slice(2);
const { astToString, default: makeTypes } = await import('openapi-typescript');
process.stdout.write(astToString(await makeTypes(JSON.parse(readFileSync(file, 'utf8')))));
