#pragma once

#include "../../support/serialisation.h"
