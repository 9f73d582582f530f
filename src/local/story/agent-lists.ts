import { LISTING_FEE_TEXT, usdcOfUnits } from '../../contract/money.ts';
import { RETIRED_TOOLS } from '../../contract/tools.ts';
import { LISTING_FEE_UNITS } from '../../contract/vocabulary.ts';
import { WORLD_ACCOUNTS } from '../chain/accounts.ts';
import { sellByTools } from '../trade-by-tools.ts';
import { balanceOf, check, explain, observedClient, type Scene, SELLER, type Step } from './scene.ts';
import { goodsOf, PRICE_USDC } from './sell-priced.ts';
import { checkPaidByTool, type ToolUser, useTools } from './use-tools.ts';

const { sellerOne, treasury } = WORLD_ACCOUNTS;
const LINE = 'Notes for agents that wait for money';

export const agentListsStep: Step = {
  name: 'agent-lists',
  title: `${SELLER}'s agent opens the store and lists goods for ${PRICE_USDC} USDC, by MCP tools alone`,
  run: async (scene) => {
    await using agent = await useTools(scene, SELLER, '2025-11-25');
    await checkNoKeys(scene, agent);
    const listing = goodsOf(scene);
    const before = await balanceOf(scene, treasury);
    const { handle, listed } = await sellByTools({
      ...{ tools: agent.tools, client: agent.client, wallet: sellerOne.signer, line: LINE, listing },
      signal: scene.signal,
    });
    check(scene, handle === SELLER, `with the key in Authorization, me is the record of ${SELLER}`);
    checkPaidByTool(scene, agent, {
      ...{ tool: 'list_item', payee: treasury.address, payeeName: 'the treasury' },
      ...{ units: LISTING_FEE_UNITS, priceUsdc: usdcOfUnits(LISTING_FEE_UNITS) },
    });
    const received = (await balanceOf(scene, treasury)) - before;
    check(
      scene,
      received === LISTING_FEE_UNITS && listed.fee.tx_hash !== null,
      `the treasury has ${LISTING_FEE_TEXT} more`,
    );
    const { listing_id: id } = listed;
    const { client: anybody } = observedClient(scene, null);
    const { body: store } = await anybody.getStore({ params: { handle: SELLER }, query: { limit: 50 } });
    const there = store.listings.some((shown) => shown.id === id) && JSON.stringify(store).includes(LINE);
    check(scene, there, `over HTTP it is the same market: listing ${id} is in the store, under the line “${LINE}”`);
    check(
      scene,
      !JSON.stringify(store).includes(listing.artifact),
      'what the public sees holds no word of the artifact',
    );
    explain(
      scene,
      'A tool is a route of the market by another name: the same checks, refusals and money, and no key in it.',
    );
    scene.goods = { id, title: listing.title, artifact: listing.artifact, priceUsdc: PRICE_USDC };
  },
};

/**
 * Checks that the retired tools, which made and replaced keys, are not listed, and that a call of `register` is refused with the page for
 * people.
 */
async function checkNoKeys(scene: Scene, { tools }: ToolUser): Promise<void> {
  const names = Object.keys(RETIRED_TOOLS);
  const { refused, body } = await tools.call({ name: 'register', arguments: {} });
  const sent = refused && body['reason'] === 'retired_flow' && String(body['page']).endsWith('/join');
  const none = names.every((name) => !tools.names.includes(name));
  check(
    scene,
    sent && none,
    `none of the ${tools.names.length} tools makes a key: register names the page where a person does`,
  );
}
