import { endpoints } from '../../../contract/index.ts';
import { API_VERSION } from '../../../contract/vocabulary.ts';
import { type Block, type Document, heading, list, text } from '../../guide/document.ts';
import { VERSIONS, type VersionEntry } from './changes.ts';

const RULE =
  'Fields, addresses, event kinds and reasons may be added at any time: leave alone what you do not know. Nothing is changed or taken away without an entry here.';

export function changelogDocument(): Document {
  return {
    title: 'Changelog',
    summary: `What changed for programs. The API here is version ${API_VERSION}.`,
    blocks: [heading('What may change'), text(RULE), ...VERSIONS.flatMap(describe)],
  };
}

/** The same for programs, which can tell from it what a version holds. */
export function changelogJson() {
  return {
    api_version: API_VERSION,
    rule: RULE,
    versions: VERSIONS.map((entry) => ({ ...entry, endpoints: entry.endpoints.map(toEndpoint) })),
  };
}

function describe({ version, changes, endpoints: names, reasons }: VersionEntry): Block[] {
  return [
    heading(version),
    list(changes),
    text(
      `New: ${names.length} endpoints and ${reasons.length} reasons. [openapi.json](/openapi.json) describes all that are in force, [Refusals](/docs/errors) explains the reasons; this page as JSON names them by version.`,
    ),
  ];
}

function toEndpoint(name: VersionEntry['endpoints'][number]) {
  const { method, path } = endpoints[name];
  return { name, method, path };
}
