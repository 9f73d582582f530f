import { errors } from 'oidc-provider';
import type { Incoming, Outgoing } from '../../platform/http/message.ts';
import { OutboundFailure } from '../../platform/http/outbound-requests.ts';
import { ClientFault } from './client-metadata.ts';

/** Explains to a person why their program cannot be connected. */
export interface ConnectFault {
  status: number;
  title: string;
  text: string;
}

export type ShowFault = (fault: ConnectFault) => Pick<Outgoing, 'headers' | 'body'>;

const RETRY_SECONDS = 10;

/** Renders plain text, so that a client's text cannot act as markup. */
export const showPlainText: ShowFault = ({ title, text }) => ({
  headers: {
    'content-type': 'text/plain; charset=utf-8',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  },
  body: `${title}\n\n${text}\n`,
});

/** Answers in the browser if the user cannot be sent back to the client. */
export function answerPerson(fault: errors.OIDCProviderError, from: Incoming, show: ShowFault): Outgoing {
  from.notes['reason'] = fault.error;
  const shown = faultForPerson(fault);
  const { headers, body } = show(shown);
  return { status: shown.status, headers: { ...headers, 'cache-control': 'private, no-store' }, body };
}

function faultForPerson(fault: errors.OIDCProviderError): ConnectFault {
  const why = causeOf(fault);
  if (why instanceof OutboundFailure) {
    return {
      status: 502,
      title: 'This program could not be looked up',
      text: `Its description could not be read from its own address (${why.why}). This is not your fault. Wait a moment, then connect again.`,
    };
  }
  if (fault instanceof errors.SessionNotFound) {
    return {
      status: 410,
      title: 'This attempt to connect is over',
      text: 'It was decided, took too long, or was started in another browser. Start again in the program that you want to connect.',
    };
  }
  // The provider would have sent faults with status 302 or 303 by redirect.
  const status = fault.status < 400 ? 400 : fault.status;
  return { status, title: 'This program cannot be connected', text: describeFault(fault) };
}

/** Answers a program with the authorization server's own error. If the client's host failed, the answer is a 503 and not a refusal. */
export function answerProgram(answer: Outgoing, fault: errors.OIDCProviderError, from: Incoming): Outgoing {
  from.notes['reason'] = fault.error;
  const why = causeOf(fault);
  if (why instanceof OutboundFailure) {
    const text = `The metadata document of this client could not be read (${why.why}). Send the same request again after Retry-After.`;
    return oauthError({ status: 503, error: 'temporarily_unavailable', text, retryAfter: RETRY_SECONDS });
  }
  if (why instanceof ClientFault)
    return oauthError({ status: fault.status, error: fault.error, text: describeFault(fault) });
  return answer;
}

interface OauthError {
  status: number;
  error: string;
  text: string;
  retryAfter?: number;
}

/** Makes an error answer in the JSON of RFC 6749 and RFC 7591. */
export function oauthError({ status, error, text, retryAfter }: OauthError): Outgoing {
  return {
    status,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'private, no-store',
      ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
    },
    body: JSON.stringify({ error, error_description: text }),
  };
}

function describeFault(fault: errors.OIDCProviderError): string {
  const why = causeOf(fault);
  if (why instanceof ClientFault) return `Its metadata document is not acceptable: ${why.message}`;
  const { error_description: text } = fault;
  return `${fault.error}${text === undefined ? '' : `: ${text}`}.`;
}

/** Returns the first of our own errors in the cause chain. */
function causeOf(fault: Error): OutboundFailure | ClientFault | null {
  for (let cause: unknown = fault; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof OutboundFailure || cause instanceof ClientFault) return cause;
  }
  return null;
}
