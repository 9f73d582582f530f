import { REQUEST_MEMORY_DAYS } from '../../contract/vocabulary.ts';

/** How long the same request is answered with its listing, and goods that were listed are held against others (W6). */
export const MEMORY_MS = REQUEST_MEMORY_DAYS * 86_400_000;
