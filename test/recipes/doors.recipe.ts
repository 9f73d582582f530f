import { carryOut, expectTexts, recipe, writeGenerated } from './carry-out.ts';

const TOOLS = 'src/contract/tools.ts';
const TOOL_TEST = 'test/world/mcp-tools.test.ts';
const INDEX = 'src/market/pages/documents/docs-index.ts';
const HASH_OF_TOOLS = `import { createHash } from 'node:crypto';
import { listTools } from './src/market/mcp/tool-catalog.ts';
process.stdout.write(createHash('sha256').update(JSON.stringify(listTools({ isMaintainer: false, hasCity: false }))).digest('hex'));`;

const tool = recipe('A tool', {
  most: 1,
  steps: [
    (copy) =>
      copy.replace(TOOLS, [
        "  {\n    name: 'my_purchases',",
        `  {
    name: 'my_clients',
    title: 'My clients',
    description: 'Which hosted clients may act for you.',
    kind: 'own',
    hints: READ,
    asks: [{ endpoint: 'listGrants' }],
  },
  {
    name: 'my_purchases',`,
      ]),
    async (copy) =>
      await copy.replace(
        TOOL_TEST,
        [/[0-9a-f]{64}/, await copy.node('--input-type=module-typescript', '--eval', HASH_OF_TOOLS)],
        ["    'listGrants',\n    'revokeGrant',", "    'revokeGrant',"],
      ),
  ],
  forgotten: { step: writeGenerated, by: 'test/reference.test.ts', error: /my_clients/ },
  shows: expectTexts('- `my_clients` (your key'),
});

const page = recipe('A page', {
  most: 2,
  steps: [
    (copy) => copy.add('src/market/pages/documents/words.ts', 'words.ts.txt'),
    (copy) =>
      copy.replace('src/market/pages/documents/documents.test.ts', [
        "const DOCUMENTS = ['/about',",
        "const DOCUMENTS = ['/about', '/words',",
      ]),
  ],
  forgotten: {
    step: (copy) =>
      copy.replace(
        INDEX,
        [
          "      { path: '/changelog',",
          "      { path: '/words', name: 'Words', says: 'what they mean here', document: wordsDocument },\n      { path: '/changelog',",
        ],
        [
          "import { termsDocument } from './terms.ts';",
          "import { termsDocument } from './terms.ts';\nimport { wordsDocument } from './words.ts';",
        ],
      ),
    by: 'src/market/pages/documents/documents.test.ts',
    error: /\/words/,
  },
  shows: expectTexts('"url":"https://market.example/words"'),
});

const endpoint = recipe('An endpoint', {
  most: 6,
  steps: [
    (copy) =>
      copy.replace('src/contract/official.ts', [
        'const identityEndpoint = z.object(',
        `export const getAisles = endpoint({
  name: 'getAisles',
  method: 'GET',
  path: '/api/aisles',
  summary: 'The aisles, and what each holds.',
  auth: 'audit',
  query: z.strictObject({}),
  answers: { 200: z.object({ aisles: z.array(z.object({ aisle: z.string(), name: z.string(), holds: z.string() })) }) },
  errors: [],
  cache: 'public',
});

const identityEndpoint = z.object(`,
      ]),
    (copy) =>
      copy.replace(
        'src/contract/index.ts',
        ['import { getHelp, getOfficialFacts }', 'import { getAisles, getHelp, getOfficialFacts }'],
        ['  getHelp,\n} as const;', '  getHelp,\n  getAisles,\n} as const;'],
      ),
    (copy) =>
      copy.replace('src/contract/openapi-texts.ts', [
        '    getWindow: {',
        "    getAisles: { tag: 'Market', says: 'Every kind of goods, in the order of the shelves.' },\n    getWindow: {",
      ]),
    (copy) => copy.add('src/market/guide/get-aisles.ts', 'get-aisles.ts.txt'),
    (copy) => copy.add('src/market/guide/get-aisles.test.ts', 'get-aisles.test.ts.txt'),
    (copy) =>
      copy.replace('test/support/sample-requests.ts', ['    getHelp: {},', '    getHelp: {},\n    getAisles: {},']),
    (copy) =>
      copy.replace('src/market/pages/documents/changes.ts', [
        "    endpoints: ['getOwnListing', 'removeText', 'listUploads'],\n",
        "    endpoints: ['getOwnListing', 'removeText', 'listUploads', 'getAisles'],\n",
      ]),
  ],
  forgotten: {
    step: (copy) =>
      copy.replace(
        'src/market/operations.ts',
        [
          "import { getHelp } from './guide/get-help.ts';",
          "import { getAisles } from './guide/get-aisles.ts';\nimport { getHelp } from './guide/get-help.ts';",
        ],
        ['    getHelp,\n', '    getHelp,\n    getAisles,\n'],
      ),
    by: 'types',
    error: /operations\.ts.*'getAisles' is missing/,
  },
  shows: expectTexts('/api/aisles'),
});

carryOut(import.meta.filename, [tool, page, endpoint]);
