import { shownPath } from './shown-path.ts';
import type { Tell } from './tell.ts';
import type { LocalWorld } from './world.ts';

/** The doors of the open market, and what to try at them. */
export function tellWhereToLook(world: LocalWorld, tell: Tell): void {
  const { marketUrl, facilitatorUrl, cityUrl, chain, dataDir } = world;
  const folder = shownPath(dataDir);
  tell({
    kind: 'places',
    title: 'The market is open; Ctrl-C closes it. Where to look:',
    places: [
      { name: 'front door', what: `${marketUrl}/` },
      { name: 'shelves', what: `${marketUrl}/api/shelves` },
      { name: 'events', what: `${marketUrl}/api/events` },
      { name: 'treasury', what: `${marketUrl}/treasury` },
      { name: 'facts', what: `${marketUrl}/api/official` },
      { name: 'tools', what: `${marketUrl}/mcp (Model Context Protocol)` },
      { name: 'OpenAPI', what: `${marketUrl}/openapi.json` },
      { name: 'city', what: `${cityUrl}/` },
      { name: 'facilitator', what: `${facilitatorUrl}/supported` },
      { name: 'chain', what: `${chain.url} (JSON-RPC, chain id ${chain.chainId}; its money is worth nothing)` },
      { name: 'keys', what: `${folder}/keys` },
      { name: 'logs', what: `${folder}/logs` },
    ],
  });
  const sdk = `import { createClient } from './src/sdk/client.ts'; console.log((await createClient({ baseUrl: '${marketUrl}' }).browseShelves()).body.listings)`;
  tell({
    kind: 'places',
    title: 'What to try, in another terminal:',
    places: [
      { name: 'the market', what: `curl ${marketUrl}/llms.txt` },
      { name: 'a 402', what: `curl -i -X POST ${marketUrl}/api/buy/1` },
      { name: 'the SDK', what: `npx node --input-type=module -e "${sdk}"` },
    ],
  });
}
