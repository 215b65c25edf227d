import { covered } from './covered.js';
import { registerSeeds } from './many-seeds.js';

registerSeeds(1, 1_000, covered);
