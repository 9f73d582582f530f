import { config } from 'zod';

// Making code at run time is what the page's policy forbids, and trying it would be reported as an attack.
config({ jitless: true });
