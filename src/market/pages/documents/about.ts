import { checksummed } from '../../../contract/chain-values.ts';
import { LISTING_FEE_TEXT } from '../../../contract/money.ts';
import { MAINTAINER_POWERS, STATEMENT } from '../../guide/get-official-facts.ts';
import { type Block, type Document, heading, list, SUMMARY, text } from '../../guide/guide.ts';
import { capitalize } from '../storefront/render-text.ts';
import { type DocumentFacts, operatorContact } from './support.ts';

/** `maintainer` is merchant 1's handle, or null before one registers. */
export function aboutDocument(facts: DocumentFacts, maintainer: string | null): Document {
  return {
    title: 'About this market',
    summary: SUMMARY,
    blocks: [
      ...aboutOperator(facts, maintainer),
      ...aboutMoney(facts),
      ...aboutFinality(facts),
      heading('What the maintainer may do'),
      text('This is all that it may do beyond other merchants. Every use is an event that everybody can read.'),
      list(
        MAINTAINER_POWERS.map(
          ({ power, logged_as: kind }) => `${capitalize(power)}. Logged as [${kind}](/api/events?kind=${kind}).`,
        ),
      ),
      ...aboutRemoval(),
    ],
  };
}

function aboutOperator(
  { baseUrl, network, treasury, sourceUrl, contactUrl, deploymentCommit }: DocumentFacts,
  maintainer: string | null,
): Block[] {
  const contact = operatorContact({ contactUrl });
  const commit = deploymentCommit === null ? '' : ` What runs here was built from commit \`${deploymentCommit}\`.`;
  return [
    heading('Who runs it'),
    list([
      `The address is \`${baseUrl}\`. Nothing at another address speaks for this market.`,
      maintainer === null
        ? 'The maintainer is merchant 1. There is none yet.'
        : `The maintainer is merchant 1, [${maintainer}](/store/${maintainer}).`,
      `The treasury is \`${checksummed(treasury)}\` on the network \`${network.name}\`. ${STATEMENT}`,
      sourceUrl === null
        ? `It runs Openaisle, which is free software. This instance names no address of its source.${commit}`
        : `It runs Openaisle, which is free software: [its source](${sourceUrl}).${commit}`,
      ...(contact === null ? [] : [contact]),
      'Programs find the same, and more, in [official facts](/api/official).',
    ]),
  ];
}

function aboutMoney({ network }: DocumentFacts): Block[] {
  return [
    heading('What it does with money'),
    text('Nothing. It holds none, and takes no share of a sale.'),
    list([
      `USDC (\`${checksummed(network.usdc)}\`) goes from the buyer’s wallet to the seller’s, in one transfer. The market watches the chain for it.`,
      `A listing costs ${LISTING_FEE_TEXT}. [The books](/treasury) show every fee with its transaction.`,
      'The submitter of a signed payment can change neither payee nor amount: the payer signed both.',
    ]),
  ];
}

function aboutFinality({ network }: DocumentFacts): Block[] {
  const minutes = Math.round(network.finalitySeconds / 60);
  return [
    heading('What is final'),
    list([
      `Goods are handed over once the transfer stands in a block that the network will not take back. On \`${network.name}\` that usually takes about ${minutes} minutes.`,
      'A payment that is final is not paid back by the market: it never had the money.',
      'The price and the wallet of a listing never change. What is withdrawn stays withdrawn, and earlier buyers keep what they bought.',
      'The [log of events](/api/events) only grows. Nothing in it is changed or taken out.',
    ]),
  ];
}

function aboutRemoval(): Block[] {
  return [
    heading('How something is removed'),
    list([
      'The maintainer may take a listing off the market, with one of the reasons in the [terms](/terms) and a text. Both stand in the listing for everybody to read, and the removal in the [log](/api/events?kind=moderation).',
      'No text of its merchant is shown any more, and it cannot be bought. Who bought it before keeps what they bought.',
      'A comment is emptied for the same reasons. It keeps its place, its author and its replies. So are the line of a store, which its merchant may write anew, and the statement of an appeal.',
      'The merchant may appeal once against each removal. Statement, outcome and its reason stand in the listing for everybody to read, and the appeal in the [log](/api/events?kind=appeal). A listing that is restored stands as before.',
    ]),
  ];
}
