import { errors } from 'oidc-provider';
import type { Incoming, Outgoing } from '../../platform/http/message.ts';
import { OutboundFailure } from '../../platform/http/outbound-requests.ts';
import { ClientFault } from './client-metadata.ts';

/** What a person is told whose program cannot be connected. */
export interface ConnectFault {
  status: number;
  title: string;
  text: string;
}

/** As a page; the pages' own where the connector is given it. */
export type ShowFault = (fault: ConnectFault) => Pick<Outgoing, 'headers' | 'body'>;

const RETRY_SECONDS = 10;

/** Plain text, so that nothing that a client says of itself is more than text. */
export const showPlainly: ShowFault = ({ title, text }) => ({
  headers: {
    'content-type': 'text/plain; charset=utf-8',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  },
  body: `${title}\n\n${text}\n`,
});

/** In a browser, when the user cannot be sent back to the client. */
export function answerPerson(fault: errors.OIDCProviderError, from: Incoming, show: ShowFault): Outgoing {
  from.notes['reason'] = fault.error;
  const told = tellPerson(fault);
  const { headers, body } = show(told);
  return { status: told.status, headers: { ...headers, 'cache-control': 'private, no-store' }, body };
}

function tellPerson(fault: errors.OIDCProviderError): ConnectFault {
  const why = causeOf(fault);
  if (why instanceof OutboundFailure) {
    return {
      status: 502,
      title: 'This program could not be looked up',
      text: `What it says of itself stands at an address of its own, which gave nothing that can be read (${why.why}). That is not your fault: wait a little, then connect again.`,
    };
  }
  if (fault instanceof errors.SessionNotFound) {
    return {
      status: 410,
      title: 'This attempt to connect is over',
      text: 'It was decided, took too long, or began in another browser. Begin again in the program that you want to connect.',
    };
  }
  // What would have been told by a redirect has the status of one.
  const status = fault.status < 400 ? 400 : fault.status;
  return { status, title: 'This program cannot be connected', text: describe(fault) };
}

/** To a program: the authorization server's own words, except where its client's host is the trouble. That is a 503 and no refusal. */
export function answerProgram(answer: Outgoing, fault: errors.OIDCProviderError, from: Incoming): Outgoing {
  from.notes['reason'] = fault.error;
  const why = causeOf(fault);
  if (why instanceof OutboundFailure) {
    const text = `The metadata document of this client could not be read (${why.why}). Send the same request again in a little while.`;
    return oauthError({ status: 503, error: 'temporarily_unavailable', text, retryAfter: RETRY_SECONDS });
  }
  if (why instanceof ClientFault)
    return oauthError({ status: fault.status, error: fault.error, text: describe(fault) });
  return answer;
}

/** The JSON of RFC 6749 and RFC 7591. */
export function oauthError(given: { status: number; error: string; text: string; retryAfter?: number }): Outgoing {
  return {
    status: given.status,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'private, no-store',
      ...(given.retryAfter === undefined ? {} : { 'retry-after': String(given.retryAfter) }),
    },
    body: JSON.stringify({ error: given.error, error_description: given.text }),
  };
}

function describe(fault: errors.OIDCProviderError): string {
  const why = causeOf(fault);
  if (why instanceof ClientFault) return `Its metadata document does not fit: ${why.message}`;
  const { error_description: text } = fault;
  return `${fault.error}${text === undefined ? '' : `: ${text}`}.`;
}

/** What lies below, where it is ours. */
function causeOf(fault: Error): OutboundFailure | ClientFault | null {
  for (let cause: unknown = fault; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof OutboundFailure || cause instanceof ClientFault) return cause;
  }
  return null;
}
