"""`python -m astrac`."""

import sys

from astrac.cli import main

sys.exit(main())
