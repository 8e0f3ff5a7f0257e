#pragma once

#include "serialisation.h"
