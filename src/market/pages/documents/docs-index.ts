import { STREAM_PATH } from '../../events/stream/mount-event-stream.ts';
import { type Block, type Document, heading, list } from '../../guide/guide.ts';
import { CONNECT_PATH, MCP_PATH } from '../../guide/mcp-server.ts';
import { NOTICES_PATH } from '../shell/assets.ts';
import { cityBridgeDocument } from './city-bridge.ts';
import { API_CATALOG_PATH, SERVER_JSON_PATH } from './discovery.ts';
import { privacyDocument } from './privacy.ts';
import { SKILL_PATH } from './skill.ts';
import { type DocumentFacts, SECURITY_PATH, supportDocument } from './support.ts';
import { termsDocument } from './terms.ts';

interface Entry {
  path: string;
  name: string;
  says: string;
  /** True if only programs use the address, so that the index shows it without a link. */
  closed?: true;
  /** Renders the page from settings alone. Omitted for pages that create-pages.ts creates. */
  document?(facts: DocumentFacts): Document;
}

const SECTIONS: readonly { name: string; entries: readonly Entry[] }[] = [
  {
    name: 'Begin',
    entries: [
      { path: '/help', name: 'Help', says: 'how to buy, sell and get a key, step by step' },
      { path: '/llms.txt', name: 'llms.txt', says: 'the same with every address, for models to read in one go' },
      { path: SKILL_PATH, name: 'Skill', says: 'the same as an agent skill, to be kept at hand' },
    ],
  },
  {
    name: 'Interfaces',
    entries: [
      { path: '/openapi.json', name: 'OpenAPI', says: 'every endpoint with its schemas' },
      { path: '/api/official', name: 'Official facts', says: 'treasury, token, network, limits, open doors' },
      { path: '/api/events', name: 'Events', says: 'the public log, newest first, by kind or by scope' },
      {
        path: STREAM_PATH,
        name: 'Event stream',
        says: 'the same log, pushed as it grows; text/event-stream, with Last-Event-ID',
        closed: true,
      },
      { path: MCP_PATH, name: 'MCP', says: 'everything as tools; your key goes into Authorization', closed: true },
      { path: CONNECT_PATH, name: 'Connect a program', says: 'the same for programs that sign you in' },
      { path: SERVER_JSON_PATH, name: 'server.json', says: 'the record of the MCP server' },
      { path: API_CATALOG_PATH, name: 'API catalog', says: 'all interfaces with what describes them' },
    ],
  },
  {
    name: 'When something is refused',
    entries: [{ path: '/docs/errors', name: 'Refusals', says: 'every reason, and what to do about it' }],
  },
  {
    name: 'This market',
    entries: [
      { path: '/about', name: 'About', says: 'who runs it, what is final, what the maintainer may do' },
      {
        path: '/terms',
        name: 'Terms',
        says: 'what merchants, buyers and the operator hold each other to',
        document: termsDocument,
      },
      {
        path: '/privacy',
        name: 'Privacy',
        says: 'what is stored, who sees it, how long it stays',
        document: privacyDocument,
      },
      { path: '/support', name: 'Support', says: 'one next step for each kind of trouble', document: supportDocument },
      { path: '/changelog', name: 'Changelog', says: 'what changed for programs' },
      {
        path: '/city-bridge',
        name: 'City bridge',
        says: 'how the ownership of things is sold',
        document: cityBridgeDocument,
      },
      { path: SECURITY_PATH, name: 'security.txt', says: 'where to report a vulnerability' },
      { path: '/robots.txt', name: 'robots.txt', says: 'what crawlers may read' },
      {
        path: NOTICES_PATH,
        name: 'Third-party notices',
        says: 'works of others in what is served, and their licences',
      },
    ],
  },
];

/** Renders the documents that need only settings, with their paths. */
export function plainDocuments(facts: DocumentFacts): [path: string, Document][] {
  const entries = SECTIONS.flatMap((section) => section.entries);
  return entries.flatMap(({ path, document }) => (document === undefined ? [] : [[path, document(facts)]]));
}

export function docsDocument({ baseUrl, sourceUrl }: DocumentFacts): Document {
  const line = ({ path, name, says, closed }: Entry): string =>
    closed === true ? `${name}, \`${baseUrl}${path}\`: ${says}.` : `[${name}](${path}): ${says}.`;
  return {
    title: 'Documents',
    summary: 'Everything that is written about this market, for people and for programs.',
    blocks: [
      ...SECTIONS.flatMap(({ name, entries }) => [heading(name), list(entries.map(line))]),
      ...sourceBlocks(sourceUrl),
    ],
  };
}

export function docsJson({ baseUrl }: DocumentFacts) {
  return {
    documents: SECTIONS.flatMap(({ name: group, entries }) =>
      entries.map(({ path, name, says }) => ({ group, name, url: `${baseUrl}${path}`, says })),
    ),
  };
}

function sourceBlocks(sourceUrl: string | null): Block[] {
  if (sourceUrl === null) return [];
  return [
    heading('Source'),
    list([
      `[${sourceUrl}](${sourceUrl}): the software, with guides for operators and the reasons of its design in the folder \`docs\`.`,
    ]),
  ];
}
