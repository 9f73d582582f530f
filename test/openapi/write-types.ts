// Prints the types that openapi-typescript makes of a document: `node test/openapi/write-types.ts FILE`. It is written for the interface of
// TypeScript 5, which version 7 does not have: in this process that name means the older one (0002). It comes out of a package that has no
// command `tsc`, which would take the place of ours.
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier === 'typescript' ? '@ts-morph/common/dist/typescript.js' : specifier, context),
});

const [file = ''] = process.argv.slice(2);
const { astToString, default: makeTypes } = await import('openapi-typescript');
process.stdout.write(astToString(await makeTypes(JSON.parse(readFileSync(file, 'utf8')))));
