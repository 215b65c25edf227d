/** `npm run build`: compiles src/ to dist/. */
import { build, ensureDependencies } from './bootstrap.mjs';

ensureDependencies();
build();
