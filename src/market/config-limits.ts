import { z } from 'zod';
import { DEFAULT_LIMITS, type Limits } from '../contract/vocabulary.ts';
import { readLimitsObject, readNamed, type Told } from '../platform/named-limits.ts';
import type { NetworkRule } from './context.ts';
import { NETWORK_LIMITS, readNetwork } from './limits/network-limits.ts';

// The body of a listing has a fixed limit; a larger artifact would never arrive.
const MOST = new Map([['artifact_bytes', 2 * DEFAULT_LIMITS.artifact_bytes]]);
const NETWORKS = 'networks';

export interface ConfiguredLimits {
  limits: Limits;
  networkLimits: readonly NetworkRule[];
}

/** OPENAISLE_LIMITS: a JSON object that changes some of the named limits, for everybody or, under `networks`, for some. */
export const readLimits: z.ZodType<ConfiguredLimits, string> = z.string().transform((text, context) => {
  const tell: Told = (message) => context.addIssue({ code: 'custom', message });
  const given = readLimitsObject(text, tell);
  if (given === null) return z.NEVER;
  const { [NETWORKS]: networks = {}, ...named } = given;
  const limits = { ...DEFAULT_LIMITS, ...readNamed(named, Object.keys(DEFAULT_LIMITS), tell, MOST) } as Limits;
  return { limits, networkLimits: readNetworks(networks, tell) };
});

function readNetworks(given: unknown, tell: Told): NetworkRule[] {
  if (!isObject(given)) {
    tell(`${NETWORKS} is no object of networks, each with limits of its own`);
    return [];
  }
  const rules: NetworkRule[] = [];
  for (const [text, own] of Object.entries(given)) {
    const network = readNetwork(text);
    if (network === null) {
      tell(
        `${NETWORKS} names what is no network: 203.0.113.0/24 or 2001:db8::/48, of IPv6 at most /64, no bit beyond the length`,
      );
    } else if (rules.some((rule) => isSame(rule, network))) tell(`${NETWORKS} names one network twice`);
    else if (!isObject(own)) tell(`${NETWORKS}: a network has no object of limits`);
    else {
      const limits: NetworkRule['limits'] = readNamed(own, NETWORK_LIMITS, (message) =>
        tell(`${NETWORKS}: ${message}`),
      );
      rules.push({ ...network, limits });
    }
  }
  return rules;
}

function isSame(a: Omit<NetworkRule, 'limits'>, b: Omit<NetworkRule, 'limits'>): boolean {
  return a.length === b.length && a.bits.width === b.bits.width && a.bits.value === b.bits.value;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
