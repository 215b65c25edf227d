import { covered } from './covered.js';
import { registerSeeds } from './many-seeds.js';

registerSeeds(1_001, 2_000, covered);
